"""Bytes pass as they are and as they come, and an end on one side is one on the other."""

import os
import select
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.shim.passing import Pump

PIECES = st.lists(st.binary(min_size=1, max_size=50) | st.just(b"\n"), max_size=10)


def read_all(descriptor: int) -> bytes:
    pieces = []
    while piece := os.read(descriptor, 1 << 16):
        pieces.append(piece)
    os.close(descriptor)
    return b"".join(pieces)


def write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@settings(max_examples=50)
@given(PIECES)
def test_any_bytes_in_any_pieces_come_out_at_once_and_are_noted(pieces: list[bytes]) -> None:
    (source, client), (server, target), noted = os.pipe(), os.pipe(), list[bytes]()
    pump = Pump(source, target, noted.append, pytest.fail)
    pump.start()
    for piece in pieces:
        os.write(client, piece)
        assert os.read(server, 1 << 16) == piece  # before anything else is sent
    os.close(client)
    assert read_all(server) == b""
    pump.join(10)
    assert noted == [*pieces, b""]


def test_a_reader_that_is_slow_slows_the_writer_and_loses_nothing() -> None:
    (source, client), (server, target), noted = os.pipe(), os.pipe(), list[bytes]()
    data = os.urandom(3 << 20)
    pump = Pump(source, target, noted.append, pytest.fail)
    pump.start()
    writer = threading.Thread(target=write_all, args=(client, data))
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()
    assert len(b"".join(noted)) < 1 << 20
    got = bytearray()
    while len(got) < len(data):
        got += os.read(server, 1 << 16)
    os.close(client)
    pump.drain()
    assert (bytes(got), b"".join(noted)) == (data, data)
    writer.join()
    assert read_all(server) == b""


def test_a_writer_is_told_at_once_that_nobody_reads_any_more() -> None:
    (source, client), (server, target) = os.pipe(), os.pipe()
    told: list[bytes | str] = []
    pump = Pump(source, target, told.append, lambda: told.append("deaf"))
    pump.start()
    os.close(server)
    pump.join(10)
    assert told == ["deaf"]
    with pytest.raises(BrokenPipeError):
        os.write(client, b"x")
    os.close(client)


def test_sockets_that_do_not_block_pass_too() -> None:
    ours, client = socket.socketpair()
    server, target = socket.socketpair()
    data, got = os.urandom(2 << 20), bytearray()
    with client, server:
        ours.setblocking(False)
        target.setblocking(False)
        pump = Pump(ours.detach(), target.detach(), lambda data: None, pytest.fail)
        pump.start()
        writer = threading.Thread(target=client.sendall, args=(data,))
        writer.start()
        select.select([], [], [], 0.1)
        while len(got) < len(data):
            got += server.recv(1 << 16)
        writer.join()
        client.shutdown(socket.SHUT_WR)
        assert server.recv(1) == b""
        pump.join(10)
    assert bytes(got) == data


def test_whoever_else_holds_the_source_open_is_not_waited_for() -> None:
    (source, client), (server, target) = os.pipe(), os.pipe()
    pump = Pump(source, target, lambda data: None, pytest.fail)
    pump.start()
    os.write(client, b"last words")
    pump.drain()
    assert pump.is_alive()
    os.close(client)
    assert read_all(server) == b"last words"
    pump.join(10)
