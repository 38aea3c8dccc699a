"""Solvers that misbehave, to see what the harness makes of it; other processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from aegis_opt.errors import MissingDependency
from aegis_opt.problem import Problem
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution
from aegis_opt.solvers.ipf._ipf import IPF


@dataclass(frozen=True, kw_only=True)
class Stubborn(Reconstructor):
    """Solves problems of fewer values than `limit`; what it does with others is for subclasses."""

    name: ClassVar[str] = "stubborn"
    capabilities: ClassVar[Capabilities] = Capabilities(norms=("kl",))
    limit: int = 8

    @property
    def distance_norm(self) -> str:
        return "kl"

    def solve(self, problem: Problem) -> Solution:
        if problem.shape[0] >= self.limit:
            self.refuse()
        return IPF().solve(problem)

    def refuse(self) -> None:
        raise ValueError("I will not")


class Sleeper(Stubborn):
    name = "sleeper"

    def refuse(self) -> None:
        time.sleep(600)


class Suicidal(Stubborn):
    name = "suicidal"

    def refuse(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Leaver(Stubborn):
    name = "leaver"

    def refuse(self) -> None:
        raise SystemExit(2)


@dataclass(frozen=True, kw_only=True)
class LateRiser(Stubborn):
    """Takes its first process down with it, before any work has begun."""

    name: ClassVar[str] = "late-riser"
    marker: str = ""

    def solve(self, problem: Problem) -> Solution:
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return IPF().solve(problem)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still here")


class Homeless(Stubborn):
    name = "homeless"

    def refuse(self) -> None:
        raise MissingDependency("needs the package nowhere: pip install nowhere")
