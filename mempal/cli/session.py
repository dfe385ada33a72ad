"""The palace a command talks to, and the wing it talks about."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mempal.cli import render
from mempal.core.config import find_home
from mempal.core.errors import UsageError

if TYPE_CHECKING:
    from mempal.palace import Palace


@dataclass(frozen=True, slots=True)
class WingChoice:
    """The wing a question is about.

    Attributes:
        wing: Its name; ``None`` stands for every wing.
        origin: What decided: ``option``, ``config``, ``project`` or ``none``.
    """

    wing: str | None
    origin: str

    @property
    def assumed(self) -> bool:
        """Whether the user did not name the wing."""
        return self.origin in {"config", "project"}

    def name_way_out(self, hint: str) -> str:
        """Return the hint of an empty answer, with how to ask beyond a wing that nobody named."""
        if not self.assumed:
            return hint
        further = f"only wing {self.wing} was asked, --all-wings asks every wing"
        return f"{hint}; {further}" if hint else further


def open_palace(home: str | None) -> "Palace":
    """Return the palace of ``--home``, else the environment's; tell what its settings warn of."""
    from mempal import wiring

    palace = wiring.open_palace(find_home(home))
    for warning in palace.config.warnings:
        render.warn(warning)
    return palace


def choose_wing(palace: "Palace", wing: str | None, *, everywhere: bool) -> WingChoice:
    """Decide which wing a question is about when the user may not have said.

    ``--wing``, else the configured wing, else the current project's own when the palace has it. A
    folder that was never mined is no reason to find nothing: there every wing is asked.

    Raises:
        UsageError: Both one wing and every wing are asked for.
    """
    if wing and everywhere:
        raise UsageError("--wing and --all-wings exclude each other", hint="give one of them")
    if wing or everywhere:
        return WingChoice(wing or None, "option")
    if configured := palace.config.text("wing"):
        return WingChoice(configured, "config")
    try:
        project = palace.default_wing(Path.cwd())
    except FileNotFoundError:  # the current folder was deleted
        return WingChoice(None, "none")
    if palace.has_wing(project):
        return WingChoice(project, "project")
    return WingChoice(None, "none")


def note_wing(choice: WingChoice) -> None:
    """Tell a person at a terminal about a wing that they did not name."""
    if choice.assumed:
        render.note(f"only wing {choice.wing} was asked (--all-wings asks every wing)")
