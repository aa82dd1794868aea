"""How figures are written, on pages and in messages alike."""

NARROW_SPACE = "\u202f"


def number(value: int | None) -> str:
    """12408 -> "12 408", with a narrow space that does not break."""
    return "" if value is None or value == "" else f"{int(value):,}".replace(",", NARROW_SPACE)


def plural(value: int | None, forms: str) -> str:
    """1, "item,items" -> "1 item"; 12408 -> "12 408 items"."""
    one, _, many = forms.partition(",")
    count = int(value or 0)
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def size(value: int | None) -> str:
    """Bytes -> "340 bytes", "12 kB", "5 MB", "105.9 MB"."""
    amount = int(value or 0)
    if amount < 1000:
        return plural(amount, "byte,bytes")
    if amount < 999_500:
        return f"{round(amount / 1000)} kB"
    return f"{round(amount / 1_000_000, 1):g} MB"
