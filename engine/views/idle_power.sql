-- The power of a card with the server up and nothing to do: stated, or the 5th percentile of at least ten samples with utilisation 0
-- and nothing in flight. Never from a catalogue.
SELECT NULL::VARCHAR AS host, NULL::INTEGER AS gpu, num AS idle_w, NULL::BIGINT AS n FROM main.given WHERE key = 'idle_w'
UNION ALL
SELECT host, gpu, quantile_cont(power_w, 0.05), count(*)
FROM main.samples_outside_load WHERE util_gpu = 0 AND power_w > 0
GROUP BY host, gpu HAVING count(*) >= 10 AND max(time) - min(time) >= 10
