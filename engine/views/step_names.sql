-- Sources whose folder or file name says which step they are from, less the steps of which a log shows more requests at a time.
SELECT * FROM main.named_steps
WHERE label NOT IN (SELECT n.label FROM main.named_steps n JOIN main.load_windows w USING (source_id) WHERE w.n_max > n.concurrency)
