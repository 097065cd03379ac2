"""What the stand-ins share: a certificate of their own, and a line of JSON for everything that they see.

A stand-in gets the answers that it is to give as a JSON array in its first argument, one a request; after the last one
it goes on with `{"status": 200}`. It writes a line with its port and files first, then a line a request. It ends when
its standard input does.
"""

import base64
import json
import os
import sys
import tempfile
import threading

lock = threading.Lock()


def say(**line):
    with lock:
        print(json.dumps(line), flush=True)


class Script:
    def __init__(self):
        self.answers = json.loads(sys.argv[1]) if len(sys.argv) > 1 else []

    def next(self):
        with lock:
            return self.answers.pop(0) if self.answers else {"status": 200}


def private_key_pem(key):
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def write(directory, name, content):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def make_certificate(directory):
    """A key and a certificate for 127.0.0.1, signed by itself. Returns the paths."""
    # Imported here: it takes longer than all else, and not every stand-in needs it.
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "stand-in")])
    now = datetime.datetime.utcnow()
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256()))
    return (
        write(directory, "certificate.pem", certificate.public_bytes(serialization.Encoding.PEM)),
        write(directory, "certificate.key", private_key_pem(key)))


def run(serve):
    """Calls `serve(directory)` on a thread and waits for the end of the standard input."""
    with tempfile.TemporaryDirectory(prefix="nephos-standin-") as directory:
        threading.Thread(target=serve, args=(directory,), daemon=True).start()
        sys.stdin.buffer.read()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
