// The client of the crate oauth2: gets a token with client credentials, and calls the API, which it repeats after a 503. With
// `dpop`, the client of AT Protocol signs the proofs. Arguments: none, bearer or dpop; the token endpoint; the API; the scope.
use std::{collections::BTreeMap, env, error::Error, sync::Arc};

use atrium_oauth::DpopClient;
use atrium_xrpc::HttpClient;
use oauth2::basic::BasicClient;
use oauth2::{ClientId, ClientSecret, HttpRequest, HttpResponse, Scope, TokenResponse, TokenUrl};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};
use reqwest_retry_after::RetryAfterMiddleware;
use serde_json::json;

type Failed = Box<dyn Error + Send + Sync>;

/// Sends requests through reqwest. `reqwest-retry` alone ignores `Retry-After`.
struct Http(ClientWithMiddleware);

impl Http {
    fn new() -> Self {
        let once = ExponentialBackoff::builder().build_with_max_retries(1);
        let client = ClientBuilder::new(reqwest::Client::new())
            .with(RetryTransientMiddleware::new_with_policy(once))
            .with(RetryAfterMiddleware::new())
            .build();
        Http(client)
    }
}

impl HttpClient for Http {
    async fn send_http(&self, request: HttpRequest) -> Result<HttpResponse, Failed> {
        let response = self.0.execute(request.try_into()?).await?;
        let mut received = oauth2::http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            received = received.header(name, value);
        }
        Ok(received.body(response.bytes().await?.to_vec())?)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let [how, endpoint, api, scope] = env::args().skip(1).collect::<Vec<_>>().try_into().expect("four arguments");
    let client = BasicClient::new(ClientId::new("reader".into()))
        .set_client_secret(ClientSecret::new("reader-secret".into()))
        .set_token_uri(TokenUrl::new(endpoint)?);
    let mut grant = client.exchange_client_credentials();
    if !scope.is_empty() {
        grant = grant.add_scope(Scope::new(scope));
    }
    let request = oauth2::http::Request::get(&api);
    let response = match how.as_str() {
        "none" => Http::new().send_http(request.body(vec![])?).await?,
        "bearer" => {
            let token = grant.request_async(&reqwest::Client::new()).await?;
            let value = format!("Bearer {}", token.access_token().secret());
            Http::new().send_http(request.header("authorization", value).body(vec![])?).await?
        }
        _ => {
            let secret = p256::SecretKey::random(&mut rand_core::OsRng);
            let key = jose_jwk::Key::from(&jose_jwk::crypto::Key::from(secret));
            let for_server = &DpopClient::new(key.clone(), Arc::new(Http::new()), true, &None)?;
            let through = |request| async { for_server.send_http(request).await.map_err(std::io::Error::other) };
            let token = grant.request_async(&through).await?;
            let value = format!("DPoP {}", token.access_token().secret());
            let for_api = DpopClient::new(key, Arc::new(Http::new()), false, &None)?;
            for_api.send_http(request.header("authorization", value).body(vec![])?).await?
        }
    };
    let mut challenges = BTreeMap::new();
    if let Some(header) = response.headers().get("www-authenticate") {
        for challenge in http_auth::parse_challenges(header.to_str()?).map_err(|error| error.to_string())? {
            let parameters = challenge.params.iter().map(|(name, value)| (name.to_string(), value.to_unescaped()));
            challenges.insert(challenge.scheme.to_string(), parameters.collect::<BTreeMap<_, _>>());
        }
    }
    println!("{}", json!({ "status": response.status().as_u16(), "challenges": challenges }));
    Ok(())
}
