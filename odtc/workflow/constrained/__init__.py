"""What a run tells of its constraints: what they ask and reach, what they cost, and what new rows satisfy."""
