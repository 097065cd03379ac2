#!/usr/bin/python3
"""A stand-in for Apple's push service: HTTP/2 over TLS; checks what it is sent as Apple documents it.

An answer of its script has a "status", and may have a "reason" with a "timestamp", a "retry-after", or instead of all "reset": true, which
closes the connection. {"gather": N} answers nobody until N requests are there, which needs one connection to carry many.
What Apple's service would refuse is refused whatever the script says.
"""

import json
import re
import socket
import ssl
import sys
import threading
import time

from cryptography.hazmat.primitives.asymmetric import ec

import h2.config
import h2.connection
import h2.errors
import h2.events

import provider_token
import standin

TOPIC = "org.example.App"
KEY_ID = "ABC123DEFG"
TEAM_ID = "DEF123GHIJ"
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

script = standin.Script()


def problem_of(headers, body, public_key):
    """The status and the reason with which Apple's service refuses the request; None for a good one."""
    if headers.get(":method") != "POST":
        return 405, "MethodNotAllowed"
    if not headers.get(":path", "").startswith("/3/device/"):
        return 404, "BadPath"
    if not re.fullmatch("(?:[0-9a-f]{2})+", headers[":path"][len("/3/device/"):]):
        return 400, "BadDeviceToken"
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme != "bearer":
        return 403, "MissingProviderToken"
    problem, header, claims = provider_token.check(token, public_key)
    if problem or header != {"alg": "ES256", "kid": KEY_ID} or set(claims) != {"iss", "iat"} or claims["iss"] != TEAM_ID:
        return 403, "InvalidProviderToken"
    if abs(claims["iat"] - time.time()) > 3600:
        return 403, "ExpiredProviderToken"
    if headers.get("apns-topic") != TOPIC:
        return 400, "BadTopic"
    if "apns-id" in headers and not UUID.fullmatch(headers["apns-id"]):
        return 400, "BadMessageId"
    if len(headers.get("apns-collapse-id", "").encode()) > 64:
        return 400, "BadCollapseId"
    if not headers.get("apns-expiration", "0").isdigit():
        return 400, "BadExpirationDate"
    if len(body) > 4096:
        return 413, "PayloadTooLarge"
    try:
        aps = json.loads(body)["aps"]
    except (ValueError, KeyError):
        return 400, "PayloadEmpty"
    silent = aps.get("content-available") == 1 and not {"alert", "badge", "sound"} & set(aps)
    expected = ("background", "5") if silent else ("alert", "10")
    if (headers.get("apns-push-type"), headers.get("apns-priority")) != expected:
        return 400, "InvalidPushType"
    return None


class Connection:
    def __init__(self, connection, number, public_key):
        self.socket, self.number, self.public_key = connection, number, public_key
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests = {}
        self.gathered = []
        self.gathering = 0

    def run(self):
        self.h2.initiate_connection()
        self.socket.sendall(self.h2.data_to_send())
        while data := self.socket.recv(65536):
            for event in self.h2.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.requests[event.stream_id] = (dict(event.headers), bytearray())
                elif isinstance(event, h2.events.DataReceived):
                    self.requests[event.stream_id][1].extend(event.data)
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    if not self.answer(event.stream_id, *self.requests.pop(event.stream_id)):
                        return
            self.socket.sendall(self.h2.data_to_send())

    def answer(self, stream, headers, body):
        """False where the connection is to be closed."""
        refused = problem_of(headers, bytes(body), self.public_key)
        standin.say(
            connection=self.number, problem=refused and refused[1], headers=headers,
            path=headers.get(":path"), body=bytes(body).decode(errors="replace"))
        answer = {"status": refused[0], "reason": refused[1]} if refused else script.next()
        if answer.get("reset"):
            return False
        self.gathering = max(self.gathering, answer.get("gather", 0))
        self.gathered.append((stream, answer))
        if len(self.gathered) >= self.gathering:
            for stream, answer in self.gathered:
                self.send(stream, answer)
            self.gathered, self.gathering = [], 0
        return True

    def send(self, stream, answer):
        headers = [(":status", str(answer.get("status", 200)))]
        if "retry-after" in answer:
            headers.append(("retry-after", str(answer["retry-after"])))
        reason = answer.get("reason")
        self.h2.send_headers(stream, headers, end_stream=reason is None)
        if reason is not None:
            body = {key: answer[key] for key in ("reason", "timestamp") if key in answer}
            self.h2.send_data(stream, json.dumps(body).encode(), end_stream=True)


def serve(directory):
    provider_key = ec.generate_private_key(ec.SECP256R1())
    key = standin.write(directory, "AuthKey.p8", standin.private_key_pem(provider_key))
    certificate, certificate_key = standin.make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate_key)
    context.set_alpn_protocols(["h2"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        standin.say(
            url=f"https://127.0.0.1:{listener.getsockname()[1]}", certificates=certificate, key=key, keyID=KEY_ID,
            teamID=TEAM_ID, topic=TOPIC)
        number = 0
        while True:
            plain, _ = listener.accept()
            number += 1
            threading.Thread(
                target=handle, args=(plain, context, number, provider_key.public_key()), daemon=True).start()


def handle(plain, context, number, public_key):
    try:
        with context.wrap_socket(plain, server_side=True) as connection:
            if connection.selected_alpn_protocol() != "h2":
                standin.say(connection=number, problem="no HTTP/2", headers={}, path="", body="")
                return
            Connection(connection, number, public_key).run()
    except OSError as error:
        print(f"connection {number}: {error}", file=sys.stderr)


if __name__ == "__main__":
    standin.run(serve)
