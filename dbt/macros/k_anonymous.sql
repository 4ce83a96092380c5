{# Fails if a class, the rows that are equal in all columns, has fewer than k rows.
   A missing value is a value. With unit, persons are counted instead of rows; rows
   without one are one person's. What is returned has sizes and no cell of the table. #}
{% test k_anonymous(model, columns, k, unit=none) %}
select n, count(*) as classes
from (
    select {{ core_mondrian.core_mondrian_size(unit) }} as n
    from {{ model }}
    group by {{ core_mondrian.core_mondrian_columns(columns) }}
) as sizes
where n < {{ core_mondrian.core_mondrian_least("k", k) }}
group by n
{% endtest %}

{% macro core_mondrian_size(unit) %}
    {%- if unit is none -%} count(*)
    {%- else -%} {{ core_mondrian.core_mondrian_values(unit) }}
    {%- endif -%}
{% endmacro %}

{% macro core_mondrian_values(column) -%}
    count(distinct {{ adapter.quote(column) }})
    + max(case when {{ adapter.quote(column) }} is null then 1 else 0 end)
{%- endmacro %}

{# Whatever is no number is 0 as one, and no class is smaller than that. #}
{% macro core_mondrian_least(name, n) -%}
    {%- if n | int | string != n | string or n | int < 1 -%}
        {{ exceptions.raise_compiler_error(name ~ " is a whole number, 1 or more") }}
    {%- endif -%}
    {{ n | int }}
{%- endmacro %}

{% macro core_mondrian_columns(columns) -%}
    {%- if columns is string or not columns -%}
        {{ exceptions.raise_compiler_error("columns is a list of quasi-identifiers") }}
    {%- endif -%}
    {%- for column in columns -%}
        {{ adapter.quote(column) }}{{ ", " if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
