//! A client of rmcp with client credentials. Arguments: the URL of the server, the issuer, the secret.

use rmcp::{
    ServiceExt,
    model::{CallToolRequestParams, ClientConfig},
    transport::{
        StreamableHttpClientTransport,
        auth::{AuthClient, ClientCredentialsConfig, OAuthState},
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (url, secret) = (&arguments[1], &arguments[3]);
    let mut state = OAuthState::new(url, None).await?;
    state
        .authenticate_client_credentials(ClientCredentialsConfig::ClientSecret {
            client_id: "reader".into(),
            client_secret: secret.into(),
            scopes: vec!["notes:read".into(), "notes:write".into()],
            resource: Some(url.into()),
        })
        .await?;
    let manager = state.into_authorization_manager().expect("authorized");
    let transport = StreamableHttpClientTransport::with_client(
        AuthClient::new(reqwest::Client::new(), manager),
        StreamableHttpClientTransportConfig::with_uri(url.as_str()),
    );
    let client = ClientConfig::default().serve(transport).await?;
    let tools = client.list_all_tools().await?;
    let result = client.call_tool(CallToolRequestParams::new("add-note")).await?;
    println!("{} {:?}", tools.len(), result.content);
    client.cancel().await?;
    Ok(())
}
