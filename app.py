"""Starts EASD Viz: ``python app.py``, then http://127.0.0.1:7860. This is also what a Hugging Face Space runs."""

from easd_viz.ui.app import LAUNCH, build

demo = build()

if __name__ == "__main__":
    demo.launch(**LAUNCH)
