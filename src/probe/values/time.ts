/** Returns the time as tokens have it: seconds since 1970. */
export const nowSeconds = () => Math.floor(Date.now() / 1000);
