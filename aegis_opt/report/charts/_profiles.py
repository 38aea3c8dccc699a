"""Performance profiles: the share of problems that a variant solves within a factor of the best one."""

from __future__ import annotations

import altair as alt

from aegis_opt.report._chart_data import Profile, Selection
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._distances import notes
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.report.charts._variants import VariantStyle, legend, log_ticks


def profile_chart(
    selection: Selection, profile: Profile, style: VariantStyle, *, page: bool = False
) -> Figure:
    """Draw a step line per variant; up and left is better."""
    words, unit = ("time", " s") if profile.metric == "seconds_total" else ("TVD", "")
    names = style.sort_names(profile.shares)
    rows = [
        {"variant": shorten(name, 34), "factor": tau, "share": share}
        for name in names
        for tau, share in zip(profile.taus, profile.shares[name], strict=True)
    ]
    domain = [shorten(name, 34) for name in names]
    look = legend(page=page)
    end = max(profile.taus[-1], 1.05)
    tips = [
        alt.Tooltip("variant:N"),
        alt.Tooltip("factor:Q", format=".3~g"),
        alt.Tooltip("share:Q", title="share of problems", format=".3~g"),
    ]
    line = (
        alt.Chart(values(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "factor:Q",
                scale=alt.Scale(type="log", domain=[1, end], nice=False),
                axis=alt.Axis(
                    title=f"factor of the best {words} (+ {profile.shift:g}{unit})",
                    values=log_ticks(1.0, end),
                    format=".4~g",
                ),
            ),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="share of problems", format="%", tickCount=5),
            ),
            color=alt.Color(
                "variant:N", scale=alt.Scale(domain=domain, range=style.colours(names)), legend=look
            ),
            strokeDash=alt.StrokeDash(
                "variant:N", scale=alt.Scale(domain=domain, range=style.dashes(names)), legend=look
            ),
            tooltip=tips,
        )
    )
    first = {name: profile.shares[name][0] for name in names}
    best = max(first, key=first.__getitem__)
    title = f"Performance profile of the {words}: up and left is better"
    return figure(
        [line],
        description=f"{title}. Most often best: {shorten(best)}, on {first[best]:.0%} of the problems.",
        title=() if page else [title, *notes(selection, f"profile-{words.lower()}", 80)],
        width=None if page else theme.WIDTH,
        height=260,
    )
