"""One flat module per question: `ls rules` is the catalogue of what can be answered."""
