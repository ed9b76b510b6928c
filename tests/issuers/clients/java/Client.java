// Spring's OAuth 2.0 client: gets a token with client credentials, and calls the API, which Apache's HttpClient repeats after a 503.
// With `dpop`, Nimbus gets the token and signs the proofs. Arguments: none, bearer or dpop; the token endpoint; the API; the scope.
import com.fasterxml.jackson.databind.ObjectMapper;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.ClientSecretBasic;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.token.DPoPTokenError;
import com.nimbusds.openid.connect.sdk.Nonce;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.apache.hc.client5.http.auth.ChallengeType;
import org.apache.hc.client5.http.impl.auth.AuthChallengeParser;
import org.apache.hc.core5.http.message.ParserCursor;
import org.springframework.http.client.HttpComponentsClientHttpRequestFactory;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.InMemoryOAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.InMemoryClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.client.OAuth2ClientHttpRequestInterceptor;
import org.springframework.security.oauth2.core.AuthorizationGrantType;
import org.springframework.web.client.RestClient;

public class Client {
  record Received(int status, String challenge) {}

  public static void main(String[] args) throws Exception {
    var received = args[0].equals("dpop") ? withProof(args[1], args[2], args[3]) : withSpring(args);
    var challenges = received.challenge == null ? Map.of() : parse(received.challenge);
    System.out.println(new ObjectMapper().writeValueAsString(Map.of("status", received.status, "challenges", challenges)));
  }

  static Map<String, Map<String, String>> parse(String header) throws Exception {
    var challenges = new HashMap<String, Map<String, String>>();
    var cursor = new ParserCursor(0, header.length());
    for (var challenge : AuthChallengeParser.INSTANCE.parse(ChallengeType.TARGET, header, cursor)) {
      var parameters = new HashMap<String, String>();
      for (var each : challenge.getParams()) parameters.put(each.getName(), each.getValue());
      challenges.put(challenge.getSchemeName(), parameters);
    }
    return challenges;
  }

  static Received withSpring(String[] args) {
    var registration = ClientRegistration.withRegistrationId("api")
        .tokenUri(args[1])
        .clientId("reader")
        .clientSecret("reader-secret")
        .scope(args[3].isEmpty() ? new String[] {} : new String[] {args[3]})
        .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS)
        .build();
    var clients = new InMemoryClientRegistrationRepository(registration);
    var tokens = new OAuth2ClientHttpRequestInterceptor(new AuthorizedClientServiceOAuth2AuthorizedClientManager(
        clients, new InMemoryOAuth2AuthorizedClientService(clients)));
    tokens.setClientRegistrationIdResolver(request -> args[0].equals("none") ? null : "api");
    var client = RestClient.builder()
        .requestFactory(new HttpComponentsClientHttpRequestFactory())
        .requestInterceptor(tokens)
        .build();
    return client.get().uri(args[2]).exchange((request, response) ->
        new Received(response.getStatusCode().value(), response.getHeaders().getFirst("www-authenticate")));
  }

  static Received withProof(String endpoint, String api, String scope) throws Exception {
    var proofs = new DefaultDPoPProofFactory(new ECKeyGenerator(Curve.P_256).generate(), JWSAlgorithm.ES256);
    var client = new ClientSecretBasic(new ClientID("reader"), new Secret("reader-secret"));
    var granting = new TokenRequest(URI.create(endpoint), client, new ClientCredentialsGrant(), Scope.parse(scope)).toHTTPRequest();
    granting.setDPoP(proofs.createDPoPJWT("POST", URI.create(endpoint)));
    var token = TokenResponse.parse(granting.send()).toSuccessResponse().getTokens().getDPoPAccessToken();
    Nonce nonce = null;
    for (;;) {
      var request = new HTTPRequest(HTTPRequest.Method.GET, URI.create(api));
      request.setAuthorization(token.toAuthorizationHeader());
      request.setDPoP(proofs.createDPoPJWT("GET", URI.create(api), token, nonce));
      HTTPResponse response = request.send();
      var challenge = response.getWWWAuthenticate();
      var error = challenge == null ? null : DPoPTokenError.parse(challenge);
      if (nonce != null || !DPoPTokenError.USE_DPOP_NONCE.equals(error))
        return new Received(response.getStatusCode(), challenge);
      nonce = response.getDPoPNonce();
    }
  }
}
