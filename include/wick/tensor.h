#pragma once

// Tensors, the operations on them, their gradients, and operations of your own.
#include "base/error.h"
#include "ops/custom_op.h"
#include "ops/ops.h"
#include "ops/optimizer.h"
#include "tensor/create.h"
#include "tensor/tensor.h"
