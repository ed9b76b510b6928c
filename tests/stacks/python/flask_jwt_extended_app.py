# Flask-JWT-Extended with an asymmetric algorithm, as "Configuration Options" in its documentation. It takes one key.
import os

from flask import Flask
from flask_jwt_extended import JWTManager, get_jwt_identity, jwt_required

app = Flask(__name__)
app.config["JWT_ALGORITHM"] = "RS256"
app.config["JWT_PUBLIC_KEY"] = open(os.environ["PUBLIC_KEY_FILE"]).read()
app.config["JWT_DECODE_AUDIENCE"] = os.environ["AUDIENCE"]
app.config["JWT_DECODE_ISSUER"] = os.environ["ISSUER"]
app.config["PROPAGATE_EXCEPTIONS"] = False
JWTManager(app)


@app.get("/messages")
@jwt_required()
def messages():
    return {"hello": get_jwt_identity()}
