declare module 'next/server' {
  export function connection(): Promise<void>;
}
