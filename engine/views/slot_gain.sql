-- Gain of removing the slot limit at C streams: (C/T(C)) / (S/T(S)), T = a + b B fitted on at least three steps with B <= S.
-- Two extrapolations: the line, and for mixture-of-experts models T = F + R D(B)/k with D the distinct experts of B tokens under
-- uniform routing. Each end carries the largest relative residual of its fit. T(S) is the measured step.
WITH points AS (
    SELECT
        s.series_key, s.concurrency AS b, 1000 / s.r AS t_ms, l.slots_lo AS slots,
        f.experts * (1 - power(1 - f.experts_per_token / f.experts, s.concurrency)) / f.experts_per_token AS coverage,
        f.experts, f.experts_per_token
    FROM main.steps s JOIN main.slots l USING (scope_id) JOIN main.roofs f USING (scope_id)
    WHERE s.r_is_decode AND l.slots_lo = l.slots_hi AND s.concurrency <= l.slots_lo
), fitted AS (
    SELECT
        series_key, slots, count(*) AS n, any_value(experts) AS experts, any_value(experts_per_token) AS k,
        regr_intercept(t_ms, b) AS a, regr_slope(t_ms, b) AS slope,
        regr_intercept(t_ms, coverage) AS fixed, regr_slope(t_ms, coverage) AS per_coverage
    FROM points GROUP BY series_key, slots HAVING count(DISTINCT b) >= 3
), residuals AS (
    SELECT
        p.series_key, max(abs(p.t_ms / (f.a + f.slope * p.b) - 1)) AS line_off,
        max(abs(p.t_ms / (f.fixed + f.per_coverage * p.coverage) - 1)) AS coverage_off,
        any_value(p.t_ms) FILTER (p.b = f.slots) AS t_slots
    FROM points p JOIN fitted f USING (series_key, slots) GROUP BY p.series_key
), predicted AS (
    SELECT
        sc.scope_id, f.*, r.line_off, r.coverage_off, r.t_slots, sc.concurrency,
        f.a + f.slope * sc.concurrency AS t_line,
        f.fixed + f.per_coverage * f.experts * (1 - power(1 - f.k / f.experts, sc.concurrency)) / f.k AS t_coverage
    FROM main.scopes sc JOIN fitted f ON f.series_key = sc.series_key JOIN residuals r ON r.series_key = f.series_key
    WHERE sc.concurrency > f.slots
), gains AS (
    SELECT
        *, (concurrency / t_line) / (slots / t_slots) AS g_line, (concurrency / t_coverage) / (slots / t_slots) AS g_coverage
    FROM predicted
)
SELECT
    scope_id, slots, n AS points, a AS intercept_ms, slope AS slope_ms,
    least(g_line / (1 + line_off), coalesce(g_coverage / (1 + coverage_off), g_line)) AS gain_lo,
    greatest(g_line / (1 - line_off), coalesce(g_coverage / (1 - coverage_off), g_line)) AS gain_hi
FROM gains
