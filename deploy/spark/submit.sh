#!/usr/bin/env bash
# Run a command on a cluster: submit.sh MASTER ARCHIVE anonymize SOURCE TARGET [OPTIONS]
#
# ARCHIVE is what pack.sh made. More options of spark-submit go into
# SPARK_SUBMIT_OPTIONS. The driver runs here, with PYTHON (python3), which has
# core-mondrian[spark] installed.
set -euo pipefail
master=$1 archive=$2 command=$3
shift 3
here=$(realpath "$(dirname "$0")")
python=${PYTHON:-python3}
home=$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
export SPARK_HOME=${SPARK_HOME:-$home} PYSPARK_DRIVER_PYTHON=$python
# shellcheck disable=SC2086  # several options in one variable
exec "$SPARK_HOME/bin/spark-submit" --master "$master" \
  --archives "$archive#core_mondrian_packed" \
  --conf spark.executorEnv.PYTHONPATH=./core_mondrian_packed \
  ${SPARK_SUBMIT_OPTIONS:-} \
  "$here/main.py" "$command" --engine spark "$@"
