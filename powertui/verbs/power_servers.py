"""The servers that `--power` names: how each is reached. Imported once a verb was given one."""

from __future__ import annotations

import argparse
import os

from powertui.power_server import JobServer, PowerServer, is_server
from powertui.sampler.prometheus_fetch import PrometheusPower
from powertui.sampler.prometheus_jobs import PrometheusJobs
from powertui.sampler.targets import SourceArguments, Target, targets


def power_servers(args: argparse.Namespace) -> tuple[tuple[str, PowerServer], ...]:
    """How the servers that `--power` names are reached, each by its address."""
    return tuple(
        (path, PrometheusPower(target.url, target.options))
        for path, target in _reached_servers(args)
    )


def job_servers(args: argparse.Namespace) -> tuple[tuple[str, JobServer], ...]:
    """The same servers, to be asked for jobs."""
    return tuple(
        (path, PrometheusJobs(target.url, target.options))
        for path, target in _reached_servers(args)
    )


def _reached_servers(args: argparse.Namespace) -> list[tuple[str, Target]]:
    """The servers that `--power` names, each with its address and login."""
    named = [path for path in args.power if is_server(path)]

    if not named:
        return []
    login = SourceArguments(
        sources=named,
        password_file=args.password_file or "",
        insecure=args.insecure,
    )
    return list(zip(named, targets(login, environment=os.environ), strict=True))
