//! The tools, as the protocol has them.

use std::sync::Arc;

use mangrove::{CancelToken, Database};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Described, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value as Json;

use crate::tools::{Allowed, Call, TOOLS};

#[derive(Clone)]
pub struct Handler {
    database: Database,
    allowed: Arc<Allowed>,
}

impl Handler {
    pub fn new(database: Database, allowed: Allowed) -> Self {
        Self { database, allowed: Arc::new(allowed) }
    }
}

/// Stops a query whose call was given up.
struct Guard(CancelToken);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let about = match self.allowed.writes {
            true => "A property graph. Look at its schema, then ask in Gremlin. Queries may change it.",
            false => "A property graph. Look at its schema, then ask in Gremlin. Queries only read.",
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mangrove", env!("CARGO_PKG_VERSION")))
            .with_instructions(about)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|tool| {
            let arguments = match (tool.arguments)() {
                Json::Object(schema) => schema,
                _ => Default::default(),
            };
            let writes = self.allowed.writes && tool.name == "query";
            let hints = ToolAnnotations::new().read_only(!writes).destructive(writes).open_world(false);
            Described::new(tool.name, tool.about, arguments).with_annotations(hints)
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let known = TOOLS.map(|tool| tool.name).join(", ");
            let message = format!("there is no tool {:?}: use {known}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let guard = Guard(CancelToken::default());
        let (handler, cancel) = (self.clone(), guard.0.clone());
        let run = tokio::task::spawn_blocking(move || {
            let call = Call { database: &handler.database, allowed: &handler.allowed, cancel };
            (tool.run)(&call, request.arguments.unwrap_or_default())
        });
        let result = match run.await {
            Ok(Ok(answer)) => CallToolResult::structured(answer),
            Ok(Err(why)) => CallToolResult::error(vec![ContentBlock::text(why)]),
            Err(_) => return Err(ErrorData::internal_error("the server failed at this call: please report this", None)),
        };
        Ok(result.into())
    }
}
