//! A server of rmcp, which verifies no tokens: behind an endpoint that protects it.

use rmcp::{
    ServerHandler,
    model::{ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
    transport::streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
};

#[derive(Clone)]
struct Notes;

#[tool_router]
impl Notes {
    #[tool(name = "add-note", description = "Adds a note")]
    fn add_note(&self) -> String {
        "A note".into()
    }
}

#[tool_handler]
impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let service: StreamableHttpService<Notes, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Notes), Default::default(), Default::default());
    let router = axum::Router::new().nest_service("/mcp", service);
    let address = format!("127.0.0.1:{}", std::env::var("PORT")?);
    axum::serve(tokio::net::TcpListener::bind(address).await?, router).await?;
    Ok(())
}
