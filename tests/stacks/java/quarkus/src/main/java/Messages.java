// Quarkus' OpenID Connect extension as a resource server, as its guide "Protect a service application by using Bearer
// token authentication": its settings are in application.properties.
import io.quarkus.security.Authenticated;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import java.util.Map;
import org.eclipse.microprofile.jwt.JsonWebToken;

@Path("/messages")
@Authenticated
public class Messages {
  @Inject
  JsonWebToken token;

  @GET
  public Map<String, String> messages() {
    return Map.of("hello", token.getSubject());
  }
}
