// Spring Authorization Server as Spring Boot configures it, with the audience that its documentation shows how to add.
// Arguments: the API identifier. KEYS may name its keys, which are then kept in DATA: the first signs, all are published.
// Without it, keys are made at each start, as Boot does. Prints one line of JSON once it listens.
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jose.jwk.gen.RSAKeyGenerator;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.jwk.source.JWKSource;
import com.nimbusds.jose.proc.SecurityContext;
import jakarta.servlet.Filter;
import java.io.ByteArrayInputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.security.oauth2.core.ClientAuthenticationMethod;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.client.InMemoryRegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClient;
import org.springframework.security.oauth2.server.authorization.client.RegisteredClientRepository;
import org.springframework.security.oauth2.server.authorization.settings.AuthorizationServerSettings;
import org.springframework.security.oauth2.server.authorization.settings.ClientSettings;
import org.springframework.security.oauth2.server.authorization.settings.OAuth2TokenFormat;
import org.springframework.security.oauth2.server.authorization.settings.TokenSettings;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenClaimsContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;

@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class AuthorizationServer {
  static String audience;

  public static void main(String[] args) throws Exception {
    audience = args[0];
    var port = Integer.parseInt(System.getenv("PORT"));
    if (port == 0) try (var socket = new java.net.ServerSocket(0)) { port = socket.getLocalPort(); }
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
    var certified = RegisteredClient.from(client("certified", OAuth2TokenFormat.SELF_CONTAINED))
        .clientAuthenticationMethod(ClientAuthenticationMethod.TLS_CLIENT_AUTH)
        .clientSettings(ClientSettings.builder().x509CertificateSubjectDN(System.getenv("SUBJECT")).build())
        .tokenSettings(TokenSettings.builder().x509CertificateBoundAccessTokens(true).build());
    return new InMemoryRegisteredClientRepository(client("reader", OAuth2TokenFormat.SELF_CONTAINED),
        client("visitor", OAuth2TokenFormat.SELF_CONTAINED), client("ES256", OAuth2TokenFormat.SELF_CONTAINED),
        client("opaque", OAuth2TokenFormat.REFERENCE), certified.build());
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
    return new InMemoryUserDetailsManager(
        User.withUsername("ada").password("{noop}password").authorities("read:messages").build(),
        User.withUsername("bob").password("{noop}password").authorities("other").build());
  }

  /** Without it, the audience is the client. */
  static boolean isForApi(String client) {
    return !client.equals("visitor");
  }

  @Bean
  OAuth2TokenCustomizer<JwtEncodingContext> jwt(JWKSource<SecurityContext> source) throws Exception {
    var keys = ((ImmutableJWKSet<SecurityContext>) source).getJWKSet().getKeys();
    return context -> {
      var client = context.getRegisteredClient().getClientId();
      var algorithm = client.equals("ES256") ? SignatureAlgorithm.ES256 : SignatureAlgorithm.RS256;
      var first = keys.stream().filter(key -> key.getAlgorithm().getName().equals(algorithm.getName())).findFirst();
      context.getJwsHeader().algorithm(algorithm).keyId(first.orElseThrow().getKeyID());
      if (!OAuth2TokenType.ACCESS_TOKEN.equals(context.getTokenType())) return;
      var roles = context.getPrincipal().getAuthorities().stream().map(GrantedAuthority::getAuthority).toList();
      context.getClaims().claim("roles", roles);
      if (isForApi(client)) context.getClaims().audience(List.of(audience));
    };
  }

  @Bean
  OAuth2TokenCustomizer<OAuth2TokenClaimsContext> opaque() {
    return context -> context.getClaims().audience(List.of(audience));
  }

  @Bean
  JWKSource<SecurityContext> keys() throws Exception {
    var names = System.getenv("KEYS");
    var keys = new ArrayList<JWK>();
    for (var name : (names == null ? UUID.randomUUID().toString() : names).split(" ")) {
      var file = Path.of(System.getenv("DATA"), name);
      if (!Files.exists(file)) {
        var rsa = new RSAKeyGenerator(2048).keyID(name).algorithm(new com.nimbusds.jose.Algorithm("RS256")).generate();
        var ec = new ECKeyGenerator(Curve.P_256).keyID(name + "-ec").algorithm(new com.nimbusds.jose.Algorithm("ES256")).generate();
        Files.writeString(file, new JWKSet(List.of(rsa, ec)).toString(false));
      }
      keys.addAll(JWKSet.parse(Files.readString(file)).getKeys());
    }
    return new ImmutableJWKSet<>(new JWKSet(keys));
  }

  /** What a proxy that terminates TLS passes on. A chain of two is that of an authority. */
  @Bean
  FilterRegistrationBean<Filter> certificates() throws Exception {
    var factory = CertificateFactory.getInstance("X.509");
    var filter = new FilterRegistrationBean<Filter>((request, response, next) -> {
      var pem = ((jakarta.servlet.http.HttpServletRequest) request).getHeader("client-cert");
      if (pem != null) try {
        var text = URLDecoder.decode(pem, StandardCharsets.UTF_8);
        var certificate = (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(text.getBytes()));
        request.setAttribute("jakarta.servlet.request.X509Certificate", new X509Certificate[] {certificate, certificate});
      } catch (java.security.cert.CertificateException fault) { throw new IllegalStateException(fault); }
      next.doFilter(request, response);
    });
    filter.setOrder(Ordered.HIGHEST_PRECEDENCE);
    return filter;
  }
}
