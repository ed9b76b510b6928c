// Imported `with { type: 'text' }`, an asset is its content, inside the executable too.
declare module '*.css' {
  const content: string;
  export = content;
}
declare module '*/page.js' {
  const content: string;
  export = content;
}
declare module '*/page/token.js' {
  const content: string;
  export = content;
}
