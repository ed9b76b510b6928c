# Mojolicious::Lite and Crypt::JWT with kid_keys, as the synopsis of its documentation.
use Mojolicious::Lite -signatures;
use Crypt::JWT qw(decode_jwt);
use Mojo::UserAgent;

my $keys;
sub keys_of { $keys //= Mojo::UserAgent->new->get($ENV{JWKS_URI})->result->json }

get '/messages' => sub ($c) {
  my ($token) = ($c->req->headers->authorization // '') =~ /^Bearer (.+)$/;
  my $claims = eval {
    decode_jwt(token => $token, kid_keys => keys_of(), accepted_alg => ['RS256'],
      verify_iss => $ENV{ISSUER}, verify_aud => $ENV{AUDIENCE}, verify_exp => 1);
  };
  return $c->render(json => { hello => $claims->{sub} }) if $claims;
  $c->res->headers->www_authenticate('Bearer');
  $c->render(json => { error => 'unauthorized' }, status => 401);
};

app->mode('production');
app->start('daemon', '-l', "http://127.0.0.1:$ENV{PORT}");
