#!/usr/bin/python3
"""Checks provider tokens (JSON Web Tokens with ES256), by a library that is not ours.

    provider_token.py PRIVATE_KEY   reads tokens, one a line, and writes a line of JSON for each
"""

import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import standin


def check(token, public_key):
    """What is wrong with the token (None if nothing is), its header and its claims."""
    parts = token.split(".")
    if len(parts) != 3:
        return "not three parts", None, None
    if any(character in token for character in "+/= \t\n"):
        return "not base64url without padding", None, None
    header, claims = (json.loads(standin.from_base64url(part)) for part in parts[:2])
    signature = standin.from_base64url(parts[2])
    if len(signature) != 64:
        return f"a signature of {len(signature)} bytes", header, claims
    if header.get("alg") != "ES256":
        return "not ES256", header, claims
    numbers = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        public_key.verify(
            encode_dss_signature(*numbers), ".".join(parts[:2]).encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return "the signature does not match", header, claims
    return None, header, claims


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None).public_key()
    for line in sys.stdin:
        problem, header, claims = check(line.strip(), key)
        standin.say(problem=problem, header=header, claims=claims)
