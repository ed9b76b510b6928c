/** As `fetch`, but a request to a loopback host never goes through a proxy that the environment names. */
export async function directFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const { hostname } = new URL(url);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return fetch(url, isLoopback ? { ...init, proxy: false } : init);
}
