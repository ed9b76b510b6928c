import static java.nio.charset.StandardCharsets.UTF_8;

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import tools.jackson.databind.ObjectMapper;

/** A client of the Java SDK, which gets no tokens itself. Arguments: the URL of the server, the issuer, the secret. */
public class Client {
  public static void main(String[] arguments) throws Exception {
    String token = tokenOf(arguments[0], arguments[1], arguments[2]);
    URI url = URI.create(arguments[0]);
    var transport =
        HttpClientStreamableHttpTransport.builder(url.resolve("/").toString())
            .endpoint(url.getPath())
            .httpRequestCustomizer(
                (request, method, uri, body, context) -> request.setHeader("Authorization", "Bearer " + token))
            .build();
    try (var client = McpClient.sync(transport).build()) {
      client.initialize();
      int tools = client.listTools().tools().size();
      System.out.println(tools + " " + client.callTool(CallToolRequest.builder("add-note").arguments(Map.of()).build()).content());
    }
    System.exit(0);
  }

  private static String tokenOf(String resource, String issuer, String secret) throws Exception {
    String form =
        "grant_type=client_credentials&client_id=reader&client_secret=" + secret
            + "&resource=" + URLEncoder.encode(resource, UTF_8);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(issuer + "oauth/token"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(HttpRequest.BodyPublishers.ofString(form))
            .build();
    String body = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
    return new ObjectMapper().readTree(body).get("access_token").asString();
  }
}
