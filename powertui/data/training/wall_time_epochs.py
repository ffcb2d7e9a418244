"""Power and epochs of a profile as wall time alone knows them: the ± of the profile's own clock
makes no difference there.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.asked import Aligning
from powertui.data.energy import summed_channels
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.trace_account import Account
from powertui.data.opened import Profile
from powertui.data.training import profile_power, session_places
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import epochs_of


def account_by_wall_time(
    training: PlacedTraining,
    profile: Profile,
    account: Account,
    aligning: Aligning,
) -> Account | None:
    """The account of a profile as wall time alone knows power and epochs; None where it
    does not.
    """
    if not training.epochs or not session_places.believed(profile, training.scalar_span):
        return None
    placed = profile_power.by_wall(training, profile.clock, account.placed, aligning)
    if placed is None:
        return None
    counted = account.counted
    if (summed := summed_channels.where_many([placed[row].power for row in counted])) is not None:
        placed, counted = (*placed, Placed(summed, placed[counted[0]].alignment)), (len(placed),)
    epochs = epochs_of(training, profile.clock.mid_ns, 0)
    return replace(
        account,
        placed=placed,
        counted=counted,
        epochs=epochs,
        around=None,
    )
