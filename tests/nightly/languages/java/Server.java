import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpStatelessServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.transport.HttpServletStatelessServerTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.util.List;
import java.util.Map;
import org.apache.catalina.startup.Tomcat;

/** A server of the Java SDK, which verifies no tokens: behind an endpoint that protects it. */
public class Server {
  public static void main(String[] arguments) throws Exception {
    var transport = HttpServletStatelessServerTransport.builder().messageEndpoint("/mcp").build();
    var tool = Tool.builder("add-note", Map.<String, Object>of("type", "object")).description("Adds a note").build();
    McpServer.sync(transport)
        .serverInfo("notes", "1.0.0")
        .capabilities(ServerCapabilities.builder().tools(false).build())
        .tools(
            new SyncToolSpecification(
                tool, (context, request) -> CallToolResult.builder(List.of(TextContent.builder("A note").build())).build()))
        .build();
    var tomcat = new Tomcat();
    tomcat.setPort(Integer.parseInt(System.getenv("PORT")));
    tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
    var context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "mcp", transport).setAsyncSupported(true);
    context.addServletMappingDecoded("/mcp", "mcp");
    tomcat.getConnector();
    tomcat.start();
    tomcat.getServer().await();
  }
}
