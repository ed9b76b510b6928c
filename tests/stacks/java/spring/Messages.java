// Spring Boot's resource server for access tokens of RFC 9068, as "OAuth 2.0 Resource Server JWT" in the reference of
// Spring Security: its default rejects the type at+jwt.
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

@EnableAutoConfiguration
@RestController
public class Messages {
  public static void main(String[] args) {
    SpringApplication.run(Messages.class, args);
  }

  @Bean
  JwtDecoder jwtDecoder() {
    var issuer = System.getenv("ISSUER");
    var decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    decoder.setJwtValidator(JwtValidators.createAtJwtValidator()
        .issuer(issuer).audience(System.getenv("AUDIENCE")).clientId("probe").build());
    return decoder;
  }

  @GetMapping("/messages")
  Map<String, String> messages(@AuthenticationPrincipal Jwt token) {
    return Map.of("hello", token.getSubject());
  }
}
