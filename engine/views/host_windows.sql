-- Stretches of load of each machine, where two or more have a server of their own: what runs on one says nothing about the cards of another.
WITH told AS (
    SELECT s.host, f.began, f.ended, coalesce(c.uncertainty_s, 1) + f.blur_s AS unc_s
    FROM main.in_flight f JOIN main.sources s USING (source_id) LEFT JOIN main.clocks c USING (source_id)
    WHERE f.n >= 1 AND f.origin LIKE 'server%' AND s.host IS NOT NULL
), ordered AS (
    SELECT *, max(ended) OVER (PARTITION BY host ORDER BY began, ended ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS so_far
    FROM told WHERE (SELECT count(DISTINCT host) FROM told) >= 2
), numbered AS (
    SELECT *, sum(CASE WHEN so_far >= began - 0.05 THEN 0 ELSE 1 END) OVER (PARTITION BY host ORDER BY began, ended ROWS UNBOUNDED PRECEDING) AS stretch FROM ordered
)
SELECT host, min(began) AS began, max(ended) AS ended, max(unc_s) AS unc_s FROM numbered GROUP BY host, stretch
