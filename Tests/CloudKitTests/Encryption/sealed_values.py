"""Seals and opens values of encrypted fields as Documentation/Encryption.md describes them, without any of the library.

Reads one JSON object a line, writes one a line:
    {"do": "seal", "place": {...}, "key": HEX, "id": HEX, "nonce": HEX, "content": HEX}  ->  {"sealed": HEX}
    {"do": "open", "place": {...}, "key": HEX, "sealed": HEX}       ->  {"content": HEX} or {"error": TEXT}
    {"do": "openFile", "place": {...}, "key": HEX, "wrapped": HEX, "sealed": HEX}  ->  {"content": HEX} or {"error": TEXT}
    {"do": "unwrap", "place": {...}, "key": HEX, "version": N, "id": HEX, "wrapped": HEX}  ->  {"content": HEX} or {"error": TEXT}
    {"do": "wrap", "place": {...}, "key": HEX, "version": N, "id": HEX, "content": HEX, "nonce": HEX}  ->  {"wrapped": HEX}
    {"do": "openLink", "place": {...}, "key": HEX, "version": N, "link": HEX, "secret": HEX}
        ->  {"content": HEX, "owner": HEX} or {"error": TEXT}: the link's secret by the share's key, which the secret opens
    {"do": "openGroupKey", "place": {...}, "key": HEX, "version": N, "box": HEX, "previous": HEX, "signer": HEX,
     "signature": HEX}  ->  {"content": HEX} or {"error": TEXT}: a share's key by the secret half of the account's key
    {"do": "makeGroupKey", "place": {...}, "key": HEX, "version": N, "content": HEX, "seed": HEX, "previous": HEX}
        ->  {"box": HEX, "signature": HEX}
    {"do": "readEntry", "place": {...}, "key": "", "entry": HEX}  ->  {"number": TEXT, "change": TEXT, …} or {"error": TEXT}
    {"do": "makeEntry", "place": {...}, "key": HEX, "seed": HEX, "box": HEX}  ->  {"entry": HEX}: the first one of a list
    {"do": "makeParticipants", "place": {...}, "key": HEX, "seed": HEX, "number": N, "id": HEX, "open": BOOL,
     "participants": [TEXT]}  ->  {"list": HEX}: the signed list of a share's participants, for the account's public key
    {"do": "readParticipants", "place": {...}, "key": "", "list": HEX}  ->  {"number": TEXT, …} or {"error": TEXT}
A place has container, environment, owner, zone, record and, for values, field and type, for a share's keys share.
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


def group_context(label, place, *values):
    """What belongs to a zone, or to a share in it."""
    share = place.get("share")
    return context(
        label + (".share" if share else ""), b"\x01", place["container"], place["environment"], place["owner"], place["zone"],
        *([share] if share else []), *values)


def number(value):
    return struct.pack(">q", value)


def key_context(place, key_id, version):
    return group_context("nephos.recordkey", place, place["record"], key_id, number(version))


def signed_bytes(place, version, recipient, box, previous):
    return group_context("nephos.zonekey", place, number(version), recipient, box, previous)


def entry_context(place, *values):
    return context("nephos.device", b"\x01", place["container"], place["environment"], place["owner"], *values)


def values_of(data):
    values = []
    while data:
        (count,) = struct.unpack(">I", data[:4])
        values.append(data[4:4 + count])
        data = data[4 + count:]
    return values


def sign(seed, message):
    _, secret = nacl.bindings.crypto_sign_seed_keypair(seed)
    return nacl.bindings.crypto_sign(message, secret)[:64]


def verify(signature, message, signer):
    nacl.bindings.crypto_sign_open(signature + message, signer)


def make_entry(place, seed, box, account_key):
    signing, _ = nacl.bindings.crypto_sign_seed_keypair(seed)
    message = entry_context(place, number(0), b"", "add", signing, box, number(1), account_key, signing)
    return message + sign(seed, message)


def read_entry(place, entry):
    message, signature = entry[:-64], entry[-64:]
    count, previous, change, signing, box, version, account_key, author = values_of(message)[5:]
    if message != entry_context(place, count, previous, change, signing, box, version, account_key, author):
        raise ValueError("an entry of another list")
    verify(signature, message, author)
    return {"number": str(struct.unpack(">q", count)[0]), "previous": previous.hex(), "change": change.decode(),
            "signing": signing.hex(), "box": box.hex(), "accountKey": account_key.hex(), "author": author.hex()}


def make_participants(place, seed, account_key, count, key_id, is_open, participants):
    signer, _ = nacl.bindings.crypto_sign_seed_keypair(seed)
    message = group_context(
        "nephos.participants", place, number(count), key_id, account_key, bytes([is_open]), signer, *participants)
    return message + sign(seed, message)


def read_participants(place, data):
    message, signature = data[:-64], data[-64:]
    count, key_id, account_key, is_open, signer, *participants = values_of(message)[7 if place.get("share") else 6:]
    if message != group_context(
            "nephos.participants", place, count, key_id, account_key, is_open, signer, *participants):
        raise ValueError("a list of another share")
    if participants != sorted(set(participants)):
        raise ValueError("unsorted, or repeated")
    verify(signature, message, signer)
    return {"number": str(struct.unpack(">q", count)[0]), "id": key_id.hex(), "accountKey": account_key.hex(),
            "open": str(is_open == b"\x01"), "signer": signer.hex(), "participants": " ".join(map(bytes.decode, participants))}


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


def open_link(place, key, version, link, secret):
    where = group_context("nephos.link", place, number(version))
    both = open_sealed(key, where, secret[1:])
    if open_sealed(both[:32], where, link[1:]) != key:
        raise ValueError("the link is for another key")
    return {"content": both[:32].hex(), "owner": both[32:].hex()}


def group_answer(question, place, key):
    """What is about keys of groups, and lists of devices."""
    def given(name):
        return bytes.fromhex(question[name])

    match question["do"]:
        case "wrap":
            where = key_context(place, given("id"), question["version"])
            return {"wrapped": (b"\x01" + seal(key, where, given("nonce"), given("content"))).hex()}
        case "openLink":
            return open_link(place, key, question["version"], given("link"), given("secret"))
        case "openGroupKey":
            recipient = nacl.bindings.crypto_scalarmult_base(key)
            verify(given("signature"),
                   signed_bytes(place, question["version"], recipient, given("box"), given("previous")), given("signer"))
            return {"content": nacl.bindings.crypto_box_seal_open(given("box"), recipient, key).hex()}
        case "makeGroupKey":
            box = nacl.bindings.crypto_box_seal(given("content"), key)
            message = signed_bytes(place, question["version"], key, box, given("previous"))
            return {"box": box.hex(), "signature": sign(given("seed"), message).hex()}
        case "makeParticipants":
            return {"list": make_participants(
                place, given("seed"), key, question["number"], given("id"), question["open"],
                sorted(question["participants"], key=str.encode)).hex()}
        case "readParticipants":
            return read_participants(place, given("list"))
        case "readEntry":
            return read_entry(place, given("entry"))
        case "makeEntry":
            return {"entry": make_entry(place, given("seed"), given("box"), key).hex()}


def answer(question):
    place, key = question["place"], bytes.fromhex(question["key"])
    if question["do"] == "seal":
        key_id = bytes.fromhex(question["id"])
        content = bytes.fromhex(question["content"])
        nonce = bytes.fromhex(question["nonce"])
        return {"sealed": (b"\x01" + key_id + seal(key, value_context(place, key_id), nonce, content)).hex()}
    try:
        if found := group_answer(question, place, key):
            return found
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
