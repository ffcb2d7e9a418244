from _typeshed import ReadableBuffer, WriteableBuffer

INTERFACE: int

class _Texts: ...

def new_texts() -> _Texts: ...
def texts_from(texts: _Texts, first: int, /) -> list[bytes]: ...
def scan(
    texts: _Texts, data: ReadableBuffer, at: int, phase: WriteableBuffer, timed: WriteableBuffer,
    us: WriteableBuffer, ps: WriteableBuffer, length: WriteableBuffer,
    lo: WriteableBuffer, hi: WriteableBuffer, args: WriteableBuffer,
    member: WriteableBuffer, id: WriteableBuffer, bind: WriteableBuffer, /
) -> tuple[int, int, int]: ...  # fmt: skip
def values(
    data: ReadableBuffer,
    name: ReadableBuffer,
    starts: ReadableBuffer,
    lo: WriteableBuffer,
    hi: WriteableBuffer,
    /,
) -> None: ...
