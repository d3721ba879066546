"""What a user may say of a life beside job and cluster, and its texts `NAME=VALUE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.base.units import Kind, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

Checkpoint = Literal["async", "sync", "memory", "none"]
_CHECKPOINTS = get_args(Checkpoint)
_MOST_LIVES = 100_000


class Settings(NamedTuple):
    """Seconds, B/s, USD; None is left to Yantra, or to the file of rates."""

    checkpoint: Checkpoint = "async"
    interval: float | None = None
    """Of training between checkpoints; the best if None."""
    storage: float | None = None
    """Rate of the whole cluster."""
    restart: float | None = None
    spares: int | None = None
    """Hosts that wait; the best number if None."""
    queue: float | None = None
    """After which the scheduler lends a host; never if None."""
    elastic: bool = False
    """Whether the other replicas go on without one that failed."""
    in_place: bool = True
    """Whether faults that a reset mends keep their host."""
    evict: bool = True
    """Whether slow ranks are found and replaced."""
    notice: float | None = None
    foreseen: float = 0.0
    """Share of hosts' crashes that are seen in advance."""
    move: float | None = None
    """How long a migration blocks training."""
    lives: int = 1000
    seed: int = 1
    price: float | None = None
    """Of a device, in USD/h."""
    capital: float | None = None
    """Of a device, in USD, in place of a price."""
    years: float | None = None
    utilisation: float | None = None
    pue: float | None = None
    electricity: float | None = None
    running: float | None = None
    network_price: float | None = None
    """What the network adds to a device's hour, in USD/h."""
    storage_price: float | None = None
    grid: float | None = None
    """Grams of CO2 of a kWh."""


_QUANTITIES: dict[str, tuple[Kind, str]] = {
    "interval": ("time", "s"),
    "storage": ("bandwidth", "B/s"),
    "restart": ("time", "s"),
    "queue": ("time", "s"),
    "notice": ("time", "s"),
    "move": ("time", "s"),
    "price": ("price", "USD/h"),
    "capital": ("money", "USD"),
    "electricity": ("energy_price", "USD/kWh"),
    "running": ("price", "USD/h"),
    "network_price": ("price", "USD/h"),
    "storage_price": ("price", "USD/h"),
    "grid": ("carbon", "g/kWh"),
}
_WHOLE = {"spares": (0, 10**5), "lives": (2, _MOST_LIVES), "seed": (0, 2**31)}
_SHARES = ("foreseen", "utilisation")
_NUMBERS = {"years": (0.1, 50.0), "pue": (1.0, 5.0)}
_SWITCHES = ("elastic", "in_place", "evict")
_MOST_S = 1e9


def made(**given: Any) -> Settings:
    """Check settings given as numbers, or as texts with units. Raises ConfigError."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in Settings._fields:
            known = ", ".join(Settings._fields)
            problem = f"{name}: nothing has this name; expected one of {known}"
            raise ConfigError("--set", problem + hint(name, Settings._fields))
        found[name] = _read(name, value)
    settings = Settings(**found)
    if (settings.foreseen > 0.0) != (settings.move is not None):
        problem = "who moves away from what is foreseen says how long it takes; give both of "
        raise ConfigError("--set foreseen", problem + "foreseen=0.3 and move='20 s'")
    if settings.checkpoint == "none" and settings.interval is not None:
        raise ConfigError("--set interval", "there is none without checkpoints")
    if settings.price is not None and settings.capital is not None:
        raise ConfigError("--set price", "a device is hired or bought; give price or capital")
    return settings


def pairs_of(texts: Sequence[str], where: str = "--set") -> dict[str, str]:
    """Read `NAME=VALUE`s. Raises ConfigError."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise ConfigError(where, expected_got("NAME=VALUE", text))
        found[name.replace("-", "_") if where == "--set" else name] = value
    return found


def _read(name: str, value: Any) -> Any:
    where = f"--set {name}"
    if value is None:
        return None
    if name == "checkpoint":
        if value not in _CHECKPOINTS:
            raise ConfigError(where, expected_got(f"one of {', '.join(_CHECKPOINTS)}", value))
        return value
    if name in _QUANTITIES:
        kind, unit = _QUANTITIES[name]
        number = parse(value, kind, unit, where) if isinstance(value, str) else value
        return _within(number, value, where, 1e-9, _MOST_S if kind == "time" else 1e18)
    if name in _SWITCHES:
        switch = {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value
        if not isinstance(switch, bool):
            raise ConfigError(where, expected_got("on or off", value))
        return switch
    if name in _WHOLE:
        first, last = _WHOLE[name]
        text = str(value)
        if isinstance(value, bool) or not text.isdecimal() or not first <= int(text) <= last:
            expected = f"a whole number from {first} to {last}"
            raise ConfigError(where, expected_got(expected, value))
        return int(text)
    least, most = _NUMBERS.get(name, (0.0, 1.0))
    return _within(_number(value, where), value, where, least, most)


def _number(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(where, expected_got("a number", value)) from None


def _within(number: Any, value: Any, where: str, least: float, most: float) -> float:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not least <= number <= most:
        raise ConfigError(where, expected_got(f"a number from {least:g} to {most:g}", value))
    return float(number)
