"""Seals and opens values of encrypted fields as Documentation/Encryption.md describes them, without any of the library.

Reads one JSON object a line, writes one a line:
    {"do": "seal", "place": {...}, "key": HEX, "id": HEX, "nonce": HEX, "content": HEX}  ->  {"sealed": HEX}
    {"do": "open", "place": {...}, "key": HEX, "sealed": HEX}       ->  {"content": HEX} or {"error": TEXT}
    {"do": "openFile", "place": {...}, "key": HEX, "wrapped": HEX, "sealed": HEX}  ->  {"content": HEX} or {"error": TEXT}
    {"do": "unwrap", "place": {...}, "key": HEX, "version": N, "id": HEX, "wrapped": HEX}  ->  {"content": HEX} or {"error": TEXT}
A place has container, environment, owner, zone, record and, for values, field and type.
"""

import hashlib
import hmac
import json
import struct
import sys

import nacl.bindings
import nacl.exceptions


def context(label, *values):
    """Each value behind the count of its bytes, in four bytes, the highest first."""
    values = [value.encode() if isinstance(value, str) else value for value in (label, *values)]
    return b"".join(struct.pack(">I", len(value)) + value for value in values)


def value_context(place, key_id):
    return context(
        "nephos.value", b"\x01", place["container"], place["environment"], place["owner"], place["zone"], place["record"],
        place["field"], place["type"], key_id)


def key_context(place, key_id, version):
    return context(
        "nephos.recordkey", b"\x01", place["container"], place["environment"], place["owner"], place["zone"], place["record"],
        key_id, struct.pack(">q", version))


def derived(key, context, nonce):
    """The key of the cipher, and the commitment."""
    both = hashlib.blake2b(context + nonce, key=key, digest_size=64).digest()
    return both[:32], both[32:]


def seal(key, context, nonce, content):
    cipher_key, commitment = derived(key, context, nonce)
    return nonce + commitment + nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(
        content, None, nonce, cipher_key)


def open_sealed(key, context, sealed):
    nonce, commitment, cipher = sealed[:24], sealed[24:56], sealed[56:]
    cipher_key, expected = derived(key, context, nonce)
    if not hmac.compare_digest(commitment, expected):
        raise ValueError("another key, or another place")
    return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(cipher, None, nonce, cipher_key)


def open_file(key, sealed):
    """A file whose chunks have 64 KiB."""
    header, rest, content, index = sealed[:16], sealed[16:], b"", 0
    if header[0] != 1:
        raise ValueError("an unknown format")
    while True:
        chunk, rest = rest[:65536 + 16], rest[65536 + 16:]
        nonce = header[1:] + struct.pack(">QB", index, 0 if rest else 1)
        content += nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(chunk, None, nonce, key)
        index += 1
        if not rest:
            return content


def answer(question):
    place, key = question["place"], bytes.fromhex(question["key"])
    if question["do"] == "seal":
        key_id = bytes.fromhex(question["id"])
        content = bytes.fromhex(question["content"])
        nonce = bytes.fromhex(question["nonce"])
        return {"sealed": (b"\x01" + key_id + seal(key, value_context(place, key_id), nonce, content)).hex()}
    try:
        if question["do"] == "unwrap":
            wrapped = bytes.fromhex(question["wrapped"])
            where = key_context(place, bytes.fromhex(question["id"]), question["version"])
            return {"content": open_sealed(key, where, wrapped[1:]).hex()}
        sealed = bytes.fromhex(question["sealed"])
        if question["do"] == "openFile":
            wrapped = bytes.fromhex(question["wrapped"])
            file_key = open_sealed(key, value_context(place, wrapped[1:9]), wrapped[9:])
            return {"content": open_file(file_key, sealed).hex()}
        if sealed[0] != 1:
            raise ValueError("an unknown format")
        return {"content": open_sealed(key, value_context(place, sealed[1:9]), sealed[9:]).hex()}
    except (ValueError, nacl.exceptions.CryptoError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
