# The dependency DAG: one row per folder under src/, "folder: what it may include and link".
# CMake links exactly these edges, and scripts/tidy.py reads this same table to reject a forbidden
# include. A sub-folder with its own row is its own target; a folder's target leaves it out.
# "proto" is the generated code of proto/.
set(SHOAL_DAG
  "base:"
  "text: base"
  "scheduler/types: base"
  "scheduler: scheduler/types base"
  "kernels: base"
  "parallel: kernels base"
  "model/spec: base"
  "model: model/spec parallel kernels base"
  "router/policy: scheduler/types base"
  "router: router/policy text scheduler/types proto base"
  "worker: model model/spec parallel kernels scheduler scheduler/types proto base"
  "app: router router/policy worker model model/spec text scheduler scheduler/types kernels parallel proto base"
)
