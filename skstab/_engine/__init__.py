"""The one place that makes runs: what is asked, who works, what is kept."""
