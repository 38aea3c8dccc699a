"""What each step of privacy costs: the least deviation against k, and which attribute pays."""

from __future__ import annotations

import altair as alt

from aegis_opt.privacy import SearchCurve
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values

_HEIGHT = 280


def search_curve_chart(curve: SearchCurve) -> Figure:
    """Draw a line per suppression limit over the k, with the attribute that pays beside each step."""
    table = curve.table[curve.table["cost"].notna()]
    limits = sorted(set(table["suppression"].tolist()))
    data = values(
        {
            "k": str(row["k"]),
            "cost": row["cost"],
            "limit": f"{row['suppression']:.4g}",
            "state": "proved" if row["proved"] else "not proved",
            "pays": "" if row["pays"] is None else shorten(str(row["pays"]), 20),
            "suppressed": row["suppressed"],
        }
        for row in table.to_dict("records")
    )
    names = [f"{limit:.4g}" for limit in limits]
    any_result = next(iter(curve.results.values()))
    unit = any_result.unit
    lost = f"mean loss of {any_result.measure}" + (f" in {unit}" if unit else "")
    base = alt.Chart(data).encode(
        x=alt.X(
            "k:O", sort=[str(k) for k in sorted(set(table["k"].tolist()))], title="k", axis={"labelAngle": 0}
        ),
        y=alt.Y("cost:Q", title=lost),
    )
    hues = alt.Scale(domain=names, range=[theme.HUES[i % len(theme.HUES)] for i in range(len(names))])
    colour = alt.Color("limit:N", scale=hues, legend=alt.Legend(title="suppression limit"))
    dashes = [theme.DASHES[i % len(theme.DASHES)] for i in range(len(names))]
    dash = alt.StrokeDash("limit:N", scale=alt.Scale(domain=names, range=dashes), legend=None)
    tips = [alt.Tooltip(f"{name}:N") for name in ("k", "limit", "state", "pays")]
    tips += [alt.Tooltip("cost:Q", format=".4~g"), alt.Tooltip("suppressed:Q", title="records suppressed")]
    filled = alt.when("datum.state == 'proved'").then(alt.value(1.0)).otherwise(alt.value(0.0))
    layers = [
        base.mark_line().encode(color=colour, strokeDash=dash),
        base.mark_point(size=60, filled=True).encode(color=colour, fillOpacity=filled, tooltip=tips),
        base.mark_text(dy=-10, fontSize=10).encode(text="pays:N"),
    ]
    proved = "every point is proved" if curve.proved else "hollow points are not proved"
    return figure(
        layers,
        description=f"Line chart of the {lost} against k, for {len(limits)} limits of suppression; {proved}.",
        title=(
            "What each step of privacy costs",
            f"Least {lost} under k-anonymity; {proved}.",
            "Beside a point: the attribute that loses most by the step from the k before.",
        ),
        height=_HEIGHT,
    )
