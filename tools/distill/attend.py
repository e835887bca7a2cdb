"""One step of attention over a long-lived bf16 cache, in C++ for a CPU: what the sampler spends most of its time on.

PyTorch's own kernels take several times as long with one query a row (docs/LOG.md has the figures). Used where a C++ compiler
with OpenMP is at hand; elsewhere, and on a GPU, the sampler keeps to PyTorch's.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

static inline float wide(uint16_t x) { uint32_t bits = (uint32_t)x << 16; float y; std::memcpy(&y, &bits, 4); return y; }

template <int DIM, int GROUP>
static void row(const float* q, const uint16_t* keys, const uint16_t* values, int64_t length, float* out, float* scores) {
    float peak[GROUP];
    for (int g = 0; g < GROUP; ++g) peak[g] = -1e30f;
    for (int64_t t = 0; t < length; ++t) {
        float key[DIM];
        for (int d = 0; d < DIM; ++d) key[d] = wide(keys[t * DIM + d]);
        for (int g = 0; g < GROUP; ++g) {
            float dot = 0;
            for (int d = 0; d < DIM; ++d) dot += q[g * DIM + d] * key[d];
            scores[g * length + t] = dot;
            peak[g] = dot > peak[g] ? dot : peak[g];
        }
    }
    float sum[GROUP] = {};
    for (int g = 0; g < GROUP; ++g)
        for (int64_t t = 0; t < length; ++t) sum[g] += scores[g * length + t] = std::exp(scores[g * length + t] - peak[g]);
    float mixed[GROUP * DIM] = {};
    for (int64_t t = 0; t < length; ++t) {
        float value[DIM];
        for (int d = 0; d < DIM; ++d) value[d] = wide(values[t * DIM + d]);
        for (int g = 0; g < GROUP; ++g)
            for (int d = 0; d < DIM; ++d) mixed[g * DIM + d] += scores[g * length + t] * value[d];
    }
    for (int g = 0; g < GROUP; ++g)
        for (int d = 0; d < DIM; ++d) out[g * DIM + d] = mixed[g * DIM + d] / sum[g];
}

// q and out: [rows, heads, DIM] float32, q scaled already; keys and values: [slots, kv_heads, max_len, DIM] bf16;
// lengths: [rows], how many positions each row may see.
extern "C" void attend(const float* q, const uint16_t* keys, const uint16_t* values, const int64_t* lengths,
                       int64_t rows, int64_t kv_heads, int64_t max_len, int64_t threads, float* out) {
#pragma omp parallel num_threads(threads)
    {
        std::vector<float> scores(GROUP_SIZE * max_len);
#pragma omp for
        for (int64_t cell = 0; cell < rows * kv_heads; ++cell)
            row<HEAD_DIM, GROUP_SIZE>(q + cell * GROUP_SIZE * HEAD_DIM, keys + cell * max_len * HEAD_DIM,
                                      values + cell * max_len * HEAD_DIM, lengths[cell / kv_heads],
                                      out + cell * GROUP_SIZE * HEAD_DIM, scores.data());
    }
}
"""

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""q [rows, heads, head_dim], keys and values [slots, kv_heads, max_len, head_dim], lengths [rows] -> [rows, heads, head_dim]."""


@cache
def compiled(head_dim: int, group: int) -> Attend | None:
    """The kernel for these sizes, compiled once and for this processor; None where there is no compiler that can."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-fPIC", f"-DHEAD_DIM={head_dim}", f"-DGROUP_SIZE={group}"]
    folder = Path(tempfile.mkdtemp(prefix="distill-"))
    try:
        source, compiled_source, library = (folder / f"attend.{ending}" for ending in ("cpp", "o", "so"))
        source.write_text(SOURCE, encoding="utf-8")
        # In two steps: told of -ffast-math, a linker adds start-up code that takes subnormal numbers from the whole process.
        for step in ([*flags, "-c", str(source), "-o"], ["-shared", "-fopenmp", str(compiled_source), "-o"]):
            made = compiled_source if "-c" in step else library
            subprocess.run([compiler, *step, str(made)], check=True, capture_output=True)
        function = ctypes.CDLL(str(library)).attend
    except subprocess.CalledProcessError as error:
        warnings.warn(
            f"{compiler} can't compile the sampler's attention, PyTorch's is used: {error.stderr.decode()[:300]}", stacklevel=2
        )
        return None
    finally:
        shutil.rmtree(folder)
    function.restype = None

    def attend(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        scaled = (q.float() * head_dim**-0.5).contiguous()
        out = torch.empty_like(scaled)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (scaled, keys, values, lengths)]
        sizes = [ctypes.c_int64(n) for n in (len(q), keys.shape[1], keys.shape[2], torch.get_num_threads())]
        function(*pointers, *sizes, ctypes.c_void_p(out.data_ptr()))
        return out.to(q.dtype)

    return attend
