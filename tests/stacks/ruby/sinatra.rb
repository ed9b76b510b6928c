# Sinatra and ruby-jwt with a loader of keys, as "JSON Web Key (JWK)" in its documentation.
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

get '/messages' do
  token = request.env['HTTP_AUTHORIZATION'].to_s[/\ABearer (.*)\z/, 1]
  begin
    claims, = JWT.decode(token, nil, true, algorithms: ['RS256'], jwks: loader,
                         iss: ENV.fetch('ISSUER'), verify_iss: true, aud: ENV.fetch('AUDIENCE'), verify_aud: true)
    content_type :json
    { hello: claims['sub'] }.to_json
  rescue JWT::DecodeError
    halt 401, { 'WWW-Authenticate' => 'Bearer' }, ''
  end
end
