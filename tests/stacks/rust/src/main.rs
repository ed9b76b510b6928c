// axum with jsonwebtoken: an extractor as axum's example "jwt", keys as the example "auth0" of jsonwebtoken.
// With SETTINGS, it has every setting that --stack jsonwebtoken-rust names.
use std::env;

use axum::{Json, Router, extract::FromRequestParts, http::StatusCode, http::header::WWW_AUTHENTICATE, http::request::Parts};
use axum::{RequestPartsExt, routing::get};
use axum_extra::{TypedHeader, headers::Authorization, headers::authorization::Bearer};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Clone)]
struct Keys(JwkSet);

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

type Rejection = (StatusCode, [(axum::http::HeaderName, &'static str); 1]);
const UNAUTHORIZED: Rejection = (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]);

impl FromRequestParts<Keys> for Claims {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, Keys(set): &Keys) -> Result<Self, Rejection> {
        let TypedHeader(Authorization(bearer)) =
            parts.extract::<TypedHeader<Authorization<Bearer>>>().await.map_err(|_| UNAUTHORIZED)?;
        let header = decode_header(bearer.token()).map_err(|_| UNAUTHORIZED)?;
        let jwk = header.kid.as_deref().and_then(|kid| set.find(kid)).ok_or(UNAUTHORIZED)?;
        let key = DecodingKey::from_jwk(jwk).map_err(|_| UNAUTHORIZED)?;
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_audience(&[env::var("AUDIENCE").unwrap()]);
        validation.set_issuer(&[env::var("ISSUER").unwrap()]);
        if env::var("SETTINGS").is_ok() {
            validation.set_required_spec_claims(&["exp", "aud", "iss"]);
            validation.validate_exp = true;
            validation.validate_nbf = true;
            validation.leeway = 5;
        }
        Ok(decode(bearer.token(), &key, &validation).map_err(|_| UNAUTHORIZED)?.claims)
    }
}

async fn messages(claims: Claims) -> Json<Value> {
    Json(json!({ "hello": claims.sub }))
}

#[tokio::main]
async fn main() {
    let set = reqwest::get(env::var("JWKS_URI").unwrap()).await.unwrap().json::<JwkSet>().await.unwrap();
    let app = Router::new().route("/messages", get(messages)).with_state(Keys(set));
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", env::var("PORT").unwrap())).await.unwrap();
    axum::serve(listener, app).await.unwrap();
}
