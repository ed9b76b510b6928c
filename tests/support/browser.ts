/** Where the clients of the authorization server get their codes. Nothing listens there. */
export const callback = 'https://app.example.test/callback';

/** Returns a function that opens a page as a browser without pages does: it follows redirects, and keeps cookies. */
export function createBrowser() {
  const cookies = new Map<string, string>();
  return async function open(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = { cookie: [...cookies.values()].join('; ') };
    const response = await fetch(url, { ...init, headers, redirect: 'manual', keepalive: false });
    for (const line of response.headers.getSetCookie()) cookies.set(line.replace(/=.*/, ''), line.replace(/;.*/, ''));
    const location = response.headers.get('location');
    return location === null || location.startsWith(callback) ? response : open(new URL(location, url));
  };
}
