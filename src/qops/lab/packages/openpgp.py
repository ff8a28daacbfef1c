"""As much of OpenPGP (RFC 4880, and EdDSA as RFC 9580 section 5.5.5.5 keeps it) as a signed repository needs.

gpg would do, but not without an agent that outlives it, and whose socket does not fit a long path.
"""

import base64
import hashlib
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_SIGNATURE, _PUBLIC_KEY, _USER_ID = 2, 6, 13  # packet tags
_EDDSA, _SHA512 = 22, 10
_ED25519 = bytes.fromhex("2b06010401da470f01")  # the curve's object identifier
_TEXT, _CERTIFICATION = 0x01, 0x13  # kinds of signature
_CREATED, _ISSUER, _HASHES, _FLAGS, _FINGERPRINT = 2, 16, 21, 27, 33  # subpackets
_MAY_CERTIFY_AND_SIGN = 0x03


@dataclass(frozen=True, slots=True)
class Key:
    """A signing key: its secret seed of 32 bytes, when it was made (seconds since the epoch), and whose it is."""

    seed: bytes
    created: int
    owner: str

    @property
    def body(self) -> bytes:
        """The public key packet's content."""
        raw = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        point = b"\x40" + raw.public_bytes(Encoding.Raw, PublicFormat.Raw)
        head = bytes((4,)) + self.created.to_bytes(4, "big") + bytes((_EDDSA, len(_ED25519)))
        return head + _ED25519 + _integer(point)

    @property
    def fingerprint(self) -> bytes:
        """What the key is known by."""
        return hashlib.sha1(_framed(self.body), usedforsecurity=False).digest()


def public(key: Key) -> bytes:
    """Return the public key in armour, certified by itself."""
    owner = key.owner.encode()
    certified = _framed(key.body) + b"\xb4" + len(owner).to_bytes(4, "big") + owner
    signature = _sign(key, _CERTIFICATION, certified, key.created)
    packets = _packet(_PUBLIC_KEY, key.body) + _packet(_USER_ID, owner) + _packet(_SIGNATURE, signature)
    return _armour("PUBLIC KEY BLOCK", packets)


def clear_sign(key: Key, text: str, now: int) -> bytes:
    """Return a text, signed in clear. It may hold no line that begins with a hyphen or ends in white space."""
    lines = text.rstrip("\n").split("\n")
    if any(line.startswith("-") or line != line.rstrip() for line in lines):
        raise ValueError("the text needs escapes, which are not written here")
    signature = _sign(key, _TEXT, "\r\n".join(lines).encode(), now)
    head = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + "\n".join(lines) + "\n"
    return head.encode() + _armour("SIGNATURE", _packet(_SIGNATURE, signature))


def _sign(key: Key, kind: int, content: bytes, now: int) -> bytes:
    subpackets = [(_CREATED, now.to_bytes(4, "big")), (_FINGERPRINT, b"\x04" + key.fingerprint)]
    if kind == _CERTIFICATION:
        subpackets += [(_FLAGS, bytes((_MAY_CERTIFY_AND_SIGN,))), (_HASHES, bytes((_SHA512,)))]
    hashed = b"".join(_subpacket(*one) for one in subpackets)
    loose = _subpacket(_ISSUER, key.fingerprint[-8:])
    head = bytes((4, kind, _EDDSA, _SHA512)) + len(hashed).to_bytes(2, "big") + hashed
    digest = hashlib.sha512(content + head + b"\x04\xff" + len(head).to_bytes(4, "big")).digest()
    signed = Ed25519PrivateKey.from_private_bytes(key.seed).sign(digest)
    return (
        head + len(loose).to_bytes(2, "big") + loose + digest[:2] + _integer(signed[:32]) + _integer(signed[32:])
    )  # fmt: skip


def _framed(body: bytes) -> bytes:
    return b"\x99" + len(body).to_bytes(2, "big") + body


def _integer(content: bytes) -> bytes:
    number = int.from_bytes(content, "big")
    return number.bit_length().to_bytes(2, "big") + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _packet(tag: int, body: bytes) -> bytes:
    """Return a packet in the old format with a two-byte length, which every reader knows."""
    return bytes((0x80 | tag << 2 | 1,)) + len(body).to_bytes(2, "big") + body


def _subpacket(kind: int, body: bytes) -> bytes:
    return bytes((len(body) + 1, kind)) + body


def _armour(what: str, content: bytes) -> bytes:
    coded = base64.b64encode(content).decode()
    rows = "\n".join(coded[place : place + 64] for place in range(0, len(coded), 64))
    check = base64.b64encode(_crc24(content).to_bytes(3, "big")).decode()
    return f"-----BEGIN PGP {what}-----\n\n{rows}\n={check}\n-----END PGP {what}-----\n".encode()


def _crc24(content: bytes) -> int:
    total = 0xB704CE
    for byte in content:
        total ^= byte << 16
        for _ in range(8):
            total <<= 1
            if total & 0x1000000:
                total ^= 0x1864CFB
    return total
