// Imported `with { type: 'text' }`, an asset is its content, inside the executable too.
declare module '*.css' {
  const content: string;
  export = content;
}
declare module '*.js' {
  const content: string;
  export = content;
}
