// Runs in the browser, behind Swagger UI's own script.
const settings = JSON.parse(document.getElementById('settings').textContent);

if (matchMedia('(prefers-color-scheme: dark)').matches) document.documentElement.classList.add('dark-mode');

/** Asks for a token as the issuer wants to be asked: everything in the form, the audience included. */
const authorizeApplication =
  (_original, { authActions }) =>
  ({ schema, name, clientId, clientSecret, scopes, ...auth }) => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      audience: settings.audience,
      scope: scopes.join(' '),
    });
    return authActions.authorizeRequest({
      body: form.toString(),
      name,
      url: schema.get('tokenUrl'),
      auth: { schema, name, clientId, clientSecret, scopes, ...auth },
    });
  };

const ui = SwaggerUIBundle({
  url: 'openapi/json',
  domNode: document.getElementById('page'),
  plugins: [{ statePlugins: { auth: { wrapActions: { authorizeApplication } } } }],
  // A preflight would have to allow this header, and nobody needs it.
  requestInterceptor(request) {
    delete request.headers['X-Requested-With'];
    return request;
  },
  tryItOutEnabled: true,
  displayRequestDuration: true,
  // The schemas are shown where they are used.
  defaultModelsExpandDepth: -1,
  defaultModelRendering: 'example',
  // By default a document that is not on localhost is sent to validator.swagger.io.
  validatorUrl: null,
});
ui.initOAuth(settings.oauth);
