#!/usr/bin/env python3
"""Attacks the manager's port: wrong keys, malformed and oversize messages, replays, slow clients, thousands of
connections. Nothing may change but by a right command, nothing may grow, and right requests must be answered all along.

    hostile_port.py HOSTILE_SERVER [--messages 5000] [--connections 1000]

The long form, by hand: --messages 100000 --connections 20000. Prints what it did and what the server took.
"""
import argparse
import hashlib
import hmac
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

HOST = "127.0.0.1"
GROWTH_KIB = 8192  # of the server's memory, between the first attack of a kind and the last


class Server:
    def __init__(self, program, folder, sanitized):
        self.key_file = os.path.join(folder, "token")
        self.process = subprocess.Popen([program, self.key_file], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        with open(self.key_file, encoding="ascii") as file:
            self.key = file.read().strip().encode()
        with open(self.key_file + ".read", encoding="ascii") as file:
            self.read_token = file.read().strip()
        self.sanitized = sanitized

    def connect(self, timeout=20):
        return socket.create_connection((HOST, self.port), timeout=timeout)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def request(method, path, body=b"", headers=()):
    head = [f"{method} {path} HTTP/1.1", "Host: a", f"Content-Length: {len(body)}"]
    head += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def read_answer(connection):
    """(status, body), or (0, b"") when the other side closed without one."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(4096)
        if not piece:
            return 0, b""
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(4096)
    return int(head.split()[1]), body


def ask(connection, *parts, **named):
    try:
        connection.sendall(request(*parts, **named))
        return read_answer(connection)
    except OSError:
        return 0, b""


def sign(key, body):
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def message(challenge, number=1, **changes):
    whole = {"format": "penstock.command/1", "job": "job", "id": f"id{number}", "sender": "test", "challenge": challenge,
             "command": {"do": "leave", "machine": "a"}}
    whole.update(changes)
    return json.dumps(whole).encode()


def right_command(server):
    """Challenge and answer, as the program does it. Returns the bytes, for a replay."""
    with server.connect() as connection:
        status, body = ask(connection, "GET", "/challenge")
        assert status == 200, status
        body = message(json.loads(body)["challenge"])
        bytes_sent = request("POST", "/command", body, [("Penstock-Signature", sign(server.key, body))])
        connection.sendall(bytes_sent)
        status, answer = read_answer(connection)
        assert status == 200 and json.loads(answer)["ok"] is True, (status, answer)
        return bytes_sent


def commands_seen(server):
    with server.connect() as connection:
        status, body = ask(connection, "GET", "/status", headers=[("Authorization", "Bearer " + server.read_token)])
        assert status == 200, status
        return json.loads(body)["commands"]


# Attacks: each sends one thing, and returns the status, which must be a refusal.

def wrong_key(server, dice):
    with server.connect() as connection:
        _, body = ask(connection, "GET", "/challenge")
        body = message(json.loads(body)["challenge"])
        return ask(connection, "POST", "/command", body, [("Penstock-Signature", sign(dice.randbytes(32), body))])[0]


def no_signature(server, dice):
    with server.connect() as connection:
        return ask(connection, "POST", "/command", message("", dice.randrange(9)))[0]


def wrong_token(server, dice):
    with server.connect() as connection:
        return ask(connection, "GET", dice.choice(["/status", "/metrics"]),
                   headers=[("Authorization", "Bearer " + dice.randbytes(32).hex())])[0]


def garbage(server, dice):
    with server.connect() as connection:
        connection.sendall(dice.randbytes(dice.randrange(1, 2000)) + b"\r\n\r\n")
        return read_answer(connection)[0]


def oversize(server, dice):
    with server.connect() as connection:
        if dice.randrange(2):
            connection.sendall(b"POST /command HTTP/1.1\r\nContent-Length: 16385\r\n\r\n" + b"x" * 1000)
        else:
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 9000)
        return read_answer(connection)[0]


def elsewhere(server, dice):
    with server.connect() as connection:
        return ask(connection, dice.choice(["GET", "DELETE", "POST", "PATCH"]),
                   dice.choice(["/", "/../token", "/command/", "/status/x", "/%2e%2e/token", "/shutdown"]))[0]


def signed_nonsense(server, dice):
    """By somebody who has the key, and a defect."""
    with server.connect() as connection:
        _, body = ask(connection, "GET", "/challenge")
        right = message(json.loads(body)["challenge"])
        body = dice.choice([right[:dice.randrange(len(right))], b"[" * 8000, b"null", b"\0" * 50,
                            message(json.loads(body)["challenge"], job="another"), message("old"),
                            right.replace(b"leave", b"reboot"), right.replace(b'"a"', b'"../a"')])
        return ask(connection, "POST", "/command", body, [("Penstock-Signature", sign(server.key, body))])[0]


ATTACKS = [wrong_key, no_signature, wrong_token, garbage, oversize, elsewhere, signed_nonsense]


def attack_with_messages(server, count, recorded):
    for number in range(count):
        dice = random.Random(number)
        attack = ATTACKS[number % len(ATTACKS)]
        try:
            status = attack(server, dice)
        except ConnectionError:  # closed while it was still writing
            status = 0
        assert status == 0 or 400 <= status < 500, (attack.__name__, status)
        if number % 100 == 0:  # the same bytes, on another connection
            with server.connect() as connection:
                connection.sendall(recorded)
                assert read_answer(connection)[0] == 401
    return f"{count:,} malformed, unsigned and oversize messages, {(count + 99) // 100:,} replays"


class SlowClients:
    """Hold connections open with a byte now and then, and come back when they are cut off."""

    def __init__(self, server, count):
        self.server, self.ending, self.cut_off = server, threading.Event(), 0
        self.sockets = []
        self.count = count
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()

    def drip(self):
        while not self.ending.wait(0.05):
            while len(self.sockets) < self.count:
                try:
                    self.sockets.append(self.server.connect())
                except OSError:
                    break
            alive = []
            for one in self.sockets:
                try:
                    one.sendall(b"GET /status HTTP/1.1\r\nX: "[:1] if one.fileno() % 2 else b"G")
                    alive.append(one)
                except OSError:
                    one.close()
                    self.cut_off += 1
            self.sockets = alive

    def end(self):
        self.ending.set()
        self.thread.join()
        for one in self.sockets:
            one.close()


def attack_with_connections(server, count):
    """Opens and drops; a fifth of them say something first."""
    held = []
    for number in range(count):
        connection = server.connect()
        if number % 5 == 0:
            connection.sendall(b"POST /command HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
        held.append(connection)
        if len(held) >= 300:
            held.pop(0).close()
    for connection in held:
        connection.close()
    return f"{count:,} connections, 300 at a time"


def measure_answers(server, ending, times):
    while not ending.wait(0.05):
        begin = time.monotonic()
        commands_seen(server)
        times.append(time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--sanitized", action="store_true", help="memory is the sanitizer's, and not compared")
    given = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(given.server, folder, given.sanitized)
        try:
            recorded = right_command(server)
            attack_with_messages(server, 200, recorded)  # the allocator's first growth is none of theirs
            descriptors, memory = server.descriptors(), server.resident_kib()
            times, ending = [], threading.Event()
            honest = threading.Thread(target=measure_answers, args=(server, ending, times))
            honest.start()
            print(attack_with_messages(server, given.messages, recorded), flush=True)
            slow = SlowClients(server, given.slow)
            print(attack_with_connections(server, given.connections), flush=True)
            for _ in range(20):
                right_command(server)  # in the midst of slow clients
            slow.end()
            print(f"{given.slow} slow clients, cut off {slow.cut_off:,} times", flush=True)
            ending.set()
            honest.join()
            deadline = time.monotonic() + 10  # what hangs up late
            while server.descriptors() > descriptors + 1 and time.monotonic() < deadline:
                time.sleep(0.1)
            grown = server.resident_kib() - memory
            print(f"{len(times):,} right requests meanwhile, the slowest in {1000 * max(times):.0f} ms")
            print(f"descriptors {descriptors} before, {server.descriptors()} after; memory {memory:,} KiB, grown by {grown:,}")
            assert server.process.poll() is None, "the server has ended"
            assert commands_seen(server) == 21, "a command came through that nobody with the key has sent"
            assert server.descriptors() <= descriptors + 1, "descriptors are left"
            assert given.sanitized or grown < GROWTH_KIB, "memory has grown"
        finally:
            server.process.kill()
            server.process.wait()
    print(f"{time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
