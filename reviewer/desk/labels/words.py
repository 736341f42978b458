"""What the reasons of the queue are called, wherever a person reads them."""

REASONS = {
    "safety": "safety: a critical finding",
    "gate_disagreement": "gates and harness disagree",
    "iteration_limit": "iteration limit",
    "blocked_output": "blocked output",
    "thumbs_down": "thumbs down",
    "judge_flips": "judge flips",
    "lost_episode": "lost episode",
    "low_efficiency": "efficiency < 0.3",
    "uncertain": "uncertain, near a limit",
    "random": "random",
    "quota": "to make up the number",
}
