# Sinatra and ruby-jwt with a loader of keys, as "JSON Web Key (JWK)" in its documentation.
# With SETTINGS, it has every setting that --stack ruby-jwt names.
require 'json'
require 'jwt'
require 'net/http'
require 'sinatra'

set :bind, '127.0.0.1'
set :port, ENV.fetch('PORT')
set :environment, :production
set :logging, false
set :server, :puma

loader = lambda do |options|
  @keys = nil if options[:kid_not_found]
  @keys ||= JSON.parse(Net::HTTP.get(URI(ENV.fetch('JWKS_URI'))), symbolize_names: true)
  # Keys of a type that it does not know are an error.
  { keys: @keys[:keys].select { |key| key.is_a?(Hash) && %w[RSA EC].include?(key[:kty]) } }
end

checks = { iss: ENV.fetch('ISSUER'), verify_iss: true, aud: ENV.fetch('AUDIENCE'), verify_aud: true }
if ENV.key?('SETTINGS')
  checks.update(required_claims: %w[iss aud exp], verify_expiration: true, exp_leeway: 5,
                verify_not_before: true, nbf_leeway: 5)
end

get '/messages' do
  token = request.env['HTTP_AUTHORIZATION'].to_s[/\ABearer (.*)\z/, 1]
  begin
    claims, = JWT.decode(token, nil, true, algorithms: ['RS256'], jwks: loader, **checks)
    content_type :json
    { hello: claims['sub'] }.to_json
  rescue JWT::DecodeError
    halt 401, { 'WWW-Authenticate' => 'Bearer' }, ''
  end
end
