// Spring Authorization Server as Spring Boot configures it, with the audience that its documentation shows how to add.
// Arguments: the API identifier. Prints one line of JSON once it listens.
import java.util.Map;
import java.util.UUID;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.client.InMemoryRegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.settings.AuthorizationServerSettings;
import org.springframework.security.oauth2.server.authorization.settings.ClientSettings;
import org.springframework.security.oauth2.server.authorization.settings.OAuth2TokenFormat;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class AuthorizationServer {
  static String audience;

  public static void main(String[] args) throws Exception {
    audience = args[0];
    int port;
    try (var socket = new java.net.ServerSocket(0)) { port = socket.getLocalPort(); }
    var issuer = "http://127.0.0.1:" + port;
    var application = new SpringApplication(AuthorizationServer.class);
    application.setDefaultProperties(Map.of("server.port", port, "server.address", "127.0.0.1", "issuer", issuer,
        "spring.main.banner-mode", "off", "logging.level.root", "ERROR", "spring.main.lazy-initialization", "true"));
    application.run();
    System.out.println("{\"issuer\":\"" + issuer + "\"}");
  }

  @Bean
  AuthorizationServerSettings settings(org.springframework.core.env.Environment environment) {
    return AuthorizationServerSettings.builder().issuer(environment.getProperty("issuer")).build();
  }

  @Bean
  RegisteredClientRepository clients() {
    return new InMemoryRegisteredClientRepository(client("reader", OAuth2TokenFormat.SELF_CONTAINED),
        client("visitor", OAuth2TokenFormat.SELF_CONTAINED), client("opaque", OAuth2TokenFormat.REFERENCE));
  }

  static RegisteredClient client(String id, OAuth2TokenFormat format) {
    return RegisteredClient.withId(UUID.randomUUID().toString())
        .clientId(id)
        .clientSecret("{noop}" + id + "-secret")
        .clientAuthenticationMethod(ClientAuthenticationMethod.CLIENT_SECRET_BASIC)
        .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
        .authorizationGrantType(AuthorizationGrantType.AUTHORIZATION_CODE)
        .authorizationGrantType(AuthorizationGrantType.REFRESH_TOKEN)
        .redirectUri("https://app.example.test/callback")
        .scope("openid").scope("read:messages")
        .clientSettings(ClientSettings.builder().requireProofKey(true).build())
        .tokenSettings(TokenSettings.builder().accessTokenFormat(format).build())
        .build();
  }

  @Bean
  UserDetailsService users() {
    return new InMemoryUserDetailsManager(User.withUsername("ada").password("{noop}password").roles("USER").build());
  }

  /** Without it, the audience is the client. */
  @Bean
  OAuth2TokenCustomizer<JwtEncodingContext> audience() {
    return context -> {
      var isReader = context.getRegisteredClient().getClientId().equals("reader");
      if (OAuth2TokenType.ACCESS_TOKEN.equals(context.getTokenType()) && isReader)
        context.getClaims().claims(claims -> claims.put("aud", java.util.List.of(audience)));
    };
  }
}
