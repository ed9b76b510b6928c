// Imported `with { type: 'file' }`, an asset is the path of a file, inside the executable too.
declare module '*.css' {
  const path: string;
  export = path;
}
declare module '*/page.js' {
  const path: string;
  export = path;
}
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  const path: string;
  export = path;
}
